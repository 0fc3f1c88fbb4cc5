"""A user's reverse proxy that gatebench does not know, configured by a JSON file."""
import http.client
import http.server
import itertools
import json
import queue
import sys

CONFIG = json.load(open(sys.argv[1]))
# Each target with its idle connections.
TARGETS = [(host, port, queue.LifoQueue()) for host, port in CONFIG["targets"]]
TURNS = itertools.count()


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        for route in CONFIG["routes"]:
            prefix = route["path"].rstrip("/")
            if path == prefix or path.startswith(prefix + "/"):
                return self.on(route, prefix, body)
        self.answer(404, [], b"no route\n")

    do_HEAD = do_POST = do_GET

    def on(self, route, prefix, body):
        header = route.get("key_header")
        if header and self.headers.get(header) not in CONFIG["keys"]:
            return self.answer(401, [], b"no key\n")
        path = self.path
        if route["strip"]:
            path = path[len(prefix):]
            path = path if path.startswith("/") else "/" + path
        host, port, idle = TARGETS[next(TURNS) % len(TARGETS)]
        try:
            upstream = idle.get_nowait()
        except queue.Empty:
            upstream = http.client.HTTPConnection(host, port)
        upstream.putrequest(self.command, path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            upstream.putheader(name, value)
        upstream.endheaders(body or None)
        answer = upstream.getresponse()
        headers, content = answer.getheaders(), answer.read()
        idle.put(upstream)
        self.answer(answer.status, headers, content)

    def answer(self, status, headers, body):
        head = ["HTTP/1.1 %d X" % status]
        head += ["%s: %s" % (name, value) for name, value in headers if name.lower() != "content-length"]
        head += ["Content-Length: %d" % len(body), "", ""]
        self.wfile.write("\r\n".join(head).encode() + body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = False
    daemon_threads = True
    request_queue_size = 128


Server(tuple(CONFIG["listen"]), Proxy).serve_forever()
