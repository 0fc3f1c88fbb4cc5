"""Runs stylesheets for the gateway, which sends orders over connections and gets the results back.

Standard output is the first connection, and the process ends when it is closed. Standard input is a
socket that accepts further connections. An order is a byte, its number (u64), the stylesheet's
number (u64), the length of the rest (u32), all little endian, and the rest:
  c  compile: JSON with the text and the parameters
  t  transform: the input, XML in UTF-8
  f  forget the stylesheet
Responses come in the sequence of the orders: a byte (0: done, 1: refused), a length (u32), and the
result or the reason. The responses of one connection are sent together when no complete order is
left or four milliseconds have passed, because each send wakes a worker, which may preempt this
process and fill the core's caches with other data.

A file contains the number of the current order, so that the gateway knows which order ended the
process.
"""
import contextlib
import json
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, sys.argv[1])
TIME_S, MEMORY_BYTES = float(sys.argv[2]), int(sys.argv[3])

# If private memory exceeds this limit, the process ends and the gateway starts another one.
resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
# The gateway decides when this process ends; a Ctrl-C in the gateway's terminal must not end it.
signal.signal(signal.SIGINT, signal.SIG_IGN)

from saxonche import PySaxonProcessor

ORDER, ANSWER, NUMBER = struct.Struct("<cQQI"), struct.Struct("<BI"), struct.Struct("<Q")
TOGETHER_S = 0.004

saxon = PySaxonProcessor(license=False)
# No stylesheet or document may read, write or fetch anything.
saxon.set_configuration_property("http://saxon.sf.net/feature/allowedProtocols", "")
saxon.set_configuration_property("http://saxon.sf.net/feature/allow-external-functions", "false")
compiled = {}


def compile(stylesheet, order):
    order = json.loads(order)
    style = saxon.new_xslt30_processor().compile_stylesheet(stylesheet_text=order["text"])
    for name, value in order["parameters"]:
        style.set_parameter(name, saxon.make_string_value(value))
    compiled[stylesheet] = style
    return b""


def transform(stylesheet, text):
    document = saxon.parse_xml(xml_text=text.decode())
    result = compiled[stylesheet].transform_to_string(xdm_node=document)
    return b"" if result is None else result.encode()


def forget(stylesheet, _):
    compiled.pop(stylesheet, None)
    return b""


ACTS = {b"c": compile, b"t": transform, b"f": forget}


def obey(kind, stylesheet, text):
    try:
        return 0, ACTS[kind](stylesheet, text)
    except Exception as error:
        return 1, str(error).encode()


class Line:
    def __init__(self, line):
        self.socket, self.orders = line, bytearray()

    def hear(self):
        """Receives available bytes; returns False if the peer has closed the connection."""
        heard = self.socket.recv(1 << 16)
        self.orders += heard
        return bool(heard)

    def work(self):
        """Carries out complete orders for about 4 ms; returns True if more may follow."""
        orders, answers, at = self.orders, [], 0
        enough = time.monotonic() + TOGETHER_S
        # This signal has no handler, so it ends the process at any point. The timer is set once for
        # all orders, because earlier orders take up only a small part of the time.
        signal.setitimer(signal.ITIMER_PROF, TIME_S)
        while len(orders) >= at + ORDER.size:
            kind, number, stylesheet, length = ORDER.unpack_from(orders, at)
            begin, end = at + ORDER.size, at + ORDER.size + length
            if end > len(orders):
                break
            NUMBER.pack_into(at_hand, 0, number)
            status, result = obey(kind, stylesheet, orders[begin:end])
            answers += ANSWER.pack(status, len(result)), result
            at = end
            if time.monotonic() > enough:
                break
        signal.setitimer(signal.ITIMER_PROF, 0)
        NUMBER.pack_into(at_hand, 0, 0)
        del orders[:at]
        if answers:
            self.socket.sendall(b"".join(answers))
        return at > 0 and len(orders) > 0


def add(line):
    lines[line.fileno()] = Line(line)
    poll.register(line, select.POLLIN)


def leave():
    """Removes the files of this process and ends it. A killed gateway cannot remove them."""
    for remove, path in (os.unlink, name), (os.unlink, name + ".at"), (os.rmdir, os.path.dirname(name)):
        with contextlib.suppress(OSError):
            remove(path)
    sys.exit()


def over(fd):
    if fd == first.fileno():
        leave()
    poll.unregister(fd)
    lines.pop(fd).socket.close()


def attempt(act, fd):
    """Returns the result of a method of a connection, or False if the connection is broken."""
    try:
        return act(lines[fd])
    except OSError:
        return False


doors, first = socket.socket(fileno=0), socket.socket(fileno=1)
name = doors.getsockname()
with open(name + ".at", "r+b") as file:
    at_hand = mmap.mmap(file.fileno(), NUMBER.size)
lines, poll = {}, select.poll()
poll.register(doors, select.POLLIN)
add(first)
first.sendall(ANSWER.pack(0, 0))
busy = set()
while True:
    for fd, _ in poll.poll(0 if busy else None):
        if fd == doors.fileno():
            add(doors.accept()[0])
        elif attempt(Line.hear, fd):
            busy.add(fd)
        else:
            busy.discard(fd)
            over(fd)
    busy = {fd for fd in busy if attempt(Line.work, fd)}
