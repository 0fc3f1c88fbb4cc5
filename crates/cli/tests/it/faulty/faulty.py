"""A small proxy for tests, which misbehaves in the way that its arguments select.

honest               passes everything on
wrong-bytes:N        from request N on, changes the last byte of the body
hang:N               from request N on, never responds
refuse:WORDS         refuses its configuration with WORDS
exit:WORDS           prints WORDS and exits at the start
crash:S              crashes S seconds after request PROOF, which belongs to the load
broken:WORDS         prints WORDS on standard error and responds only to /, so it becomes ready
late-limit:MS        MS milliseconds after the start, grants /limited twice more, then refuses it
socket:PATH          also binds a Unix socket to PATH
deaf                 ignores SIGTERM
port:P               listens on P instead of the given port
"""
import http.client
import http.server
import itertools
import os
import signal
import socket
import sys
import threading
import time

PORT, BEHAVIOR = sys.argv[1], sys.argv[2]
KIND, _, VALUE = BEHAVIOR.partition(":")
if PORT == "check":
    sys.exit("faulty: " + VALUE.replace("-", " ") if KIND == "refuse" else 0)
if KIND == "exit":
    sys.exit("faulty: " + VALUE.replace("-", " "))
if KIND == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

# The parity proof, which precedes the load, sends fewer requests than this number.
PROOF = 40

count = itertools.count(1)
counted = itertools.count(1)
started = time.monotonic()
local = threading.local()


def over_limit():
    return time.monotonic() - started > float(VALUE) / 1000 and next(counted) > 2


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        number = next(count)
        if KIND == "crash" and number == PROOF:
            threading.Timer(float(VALUE), os.abort).start()
        if KIND == "hang" and number >= int(VALUE):
            time.sleep(3600)
        if KIND == "broken" and self.path != "/":
            time.sleep(3600)
        if KIND == "late-limit" and self.path == "/limited" and over_limit():
            return self.answer(429, [], b"enough\n")
        if not self.path.startswith(("/ping", "/limited")):
            return self.answer(404, [], b"no route\n")
        if not hasattr(local, "upstream"):
            local.upstream = http.client.HTTPConnection("127.0.0.1", int(sys.argv[3]))
        local.upstream.request("GET", self.path.replace("/limited", "/ping"), headers=dict(self.headers))
        answer = local.upstream.getresponse()
        body = answer.read()
        if KIND == "wrong-bytes" and number >= int(VALUE):
            body = body[:-1] + b"?"
        self.answer(answer.status, answer.getheaders(), body)

    def answer(self, status, headers, body):
        head = ["HTTP/1.1 %d X" % status]
        head += ["%s: %s" % (name, value) for name, value in headers if name.lower() != "content-length"]
        head += ["Content-Length: %d" % len(body), "", ""]
        self.wfile.write("\r\n".join(head).encode() + body)

    def log_message(self, *_):
        pass


if KIND == "broken":
    print(VALUE.replace("-", " "), file=sys.stderr, flush=True)
if KIND == "socket":
    control = socket.socket(socket.AF_UNIX)
    control.bind(VALUE)


class Server(http.server.ThreadingHTTPServer):
    allow_reuse_address = False
    daemon_threads = True


Server(("127.0.0.1", int(VALUE) if KIND == "port" else int(PORT)), Proxy).serve_forever()
