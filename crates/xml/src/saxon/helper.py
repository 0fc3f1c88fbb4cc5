"""Runs stylesheets for the gateway: orders come on standard input, answers go to standard output.

An order is a byte, the stylesheet's number (u64), the length of what follows (u32), little endian:
  c  compile: JSON with the text and the parameters
  t  transform: the input, XML in UTF-8
  f  forget the stylesheet
An answer is a byte (0: done, 1: refused), a length (u32), and the result or the reason.
"""
import json
import os
import resource
import signal
import struct
import sys

sys.path.insert(0, sys.argv[1])
TIME_S, MEMORY_BYTES = float(sys.argv[2]), int(sys.argv[3])

# What is not shared with others may grow to this; then the process ends, and is started anew.
resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
# The gateway ends by its own will; a terminal's Ctrl-C is not meant for this.
signal.signal(signal.SIGINT, signal.SIG_IGN)

from saxonche import PySaxonProcessor

ORDER, ANSWER = struct.Struct("<cQI"), struct.Struct("<BI")
saxon = PySaxonProcessor(license=False)
# Neither a stylesheet nor a document reads, writes or fetches anything.
saxon.set_configuration_property("http://saxon.sf.net/feature/allowedProtocols", "")
saxon.set_configuration_property("http://saxon.sf.net/feature/allow-external-functions", "false")
compiled = {}


def read(count):
    data = os.read(0, count)
    while len(data) < count:
        more = os.read(0, count - len(data))
        if not more:
            sys.exit()
        data += more
    return data


def compile(number, order):
    order = json.loads(order)
    style = saxon.new_xslt30_processor().compile_stylesheet(stylesheet_text=order["text"])
    for name, value in order["parameters"]:
        style.set_parameter(name, saxon.make_string_value(value))
    compiled[number] = style
    return b""


def transform(number, text):
    document = saxon.parse_xml(xml_text=text.decode())
    result = compiled[number].transform_to_string(xdm_node=document)
    return b"" if result is None else result.encode()


def forget(number, _):
    compiled.pop(number, None)
    return b""


def answer(status, data):
    data = ANSWER.pack(status, len(data)) + data
    while data:
        data = data[os.write(1, data) :]


ORDERS = {b"c": compile, b"t": transform, b"f": forget}
os.write(1, ANSWER.pack(0, 0))
while True:
    kind, number, length = ORDER.unpack(read(ORDER.size))
    text = read(length) if length else b""
    # Without a handler this signal ends the process, whatever it is doing.
    signal.setitimer(signal.ITIMER_PROF, TIME_S)
    try:
        done = (0, ORDERS[kind](number, text))
    except Exception as error:
        done = (1, str(error).encode())
    signal.setitimer(signal.ITIMER_PROF, 0)
    answer(*done)
