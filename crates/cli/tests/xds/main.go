// A control plane for Envoy in tests. It sends the routes in a file, and on SIGHUP reads the file
// again and sends the new routes.
//
//	xds ADDRESS:PORT FILE
//
// The file is a discovery response in JSON, in the format that Envoy also reads from disk.
package main

import (
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"

	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/api_key_auth/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/basic_auth/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/buffer/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_mutation/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/jwt_authn/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	routes "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const routeType = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

// server holds the current routes; changed is closed when they are replaced.
type server struct {
	routes.UnimplementedRouteDiscoveryServiceServer
	mutex   sync.Mutex
	version int
	current *discovery.DiscoveryResponse
	changed chan struct{}
}

// load reads the file and wakes all streams.
func (s *server) load(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	response := &discovery.DiscoveryResponse{}
	if err := protojson.Unmarshal(text, response); err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.version++
	response.TypeUrl = routeType
	response.VersionInfo = strconv.Itoa(s.version)
	response.Nonce = response.VersionInfo
	s.current = response
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
	return nil
}

func (s *server) latest() (*discovery.DiscoveryResponse, <-chan struct{}) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return proto.Clone(s.current).(*discovery.DiscoveryResponse), s.changed
}

// StreamRoutes sends the routes after the first request, and again whenever they change. Further
// requests acknowledge or reject a version.
func (s *server) StreamRoutes(stream routes.RouteDiscoveryService_StreamRoutesServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			if detail := request.GetErrorDetail(); detail != nil {
				log.Printf("version %s was rejected: %s", request.GetResponseNonce(), detail.GetMessage())
			}
		}
	}()
	for {
		response, changed := s.latest()
		if err := stream.Send(response); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: xds ADDRESS:PORT FILE")
	}
	address, file := os.Args[1], os.Args[2]
	s := &server{}
	if err := s.load(file); err != nil {
		log.Fatal(err)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			if err := s.load(file); err != nil {
				log.Print(err)
			}
		}
	}()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	serving := grpc.NewServer()
	routes.RegisterRouteDiscoveryServiceServer(serving, s)
	log.Fatal(serving.Serve(listener))
}
