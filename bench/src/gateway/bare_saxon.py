"""The bare work of Saxon's chains: calls its Python interface in a loop, with stylesheets compiled
once, and prints the CPU time of one round in microseconds.

  bare_saxon.py PACKAGE SECONDS MADE MESSAGE STYLESHEET...

A JSON message becomes the text of an element. The result of each stylesheet, as text, is the input
of the next one. ECHO in place of a stylesheet wraps a JSON text as httpbin does in its response;
RESPONSE=FILE replaces the text with that of a file. The results of the stylesheets are written to
the folder MADE, numbered from 1."""
import sys
import time
from xml.sax.saxutils import escape

sys.path.insert(0, sys.argv[1])
from saxonche import PySaxonProcessor

saxon = PySaxonProcessor(license=False)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def compiled(path):
    if path == "ECHO":
        return lambda text: '{"json":' + text + "}"
    if path.startswith("RESPONSE="):
        response = read(path.removeprefix("RESPONSE="))
        return lambda text: response
    return saxon.new_xslt30_processor().compile_stylesheet(stylesheet_text=read(path))


seconds, made, message = float(sys.argv[2]), sys.argv[3], read(sys.argv[4])
styles = [compiled(path) for path in sys.argv[5:]]


def work():
    text, results = message, []
    for style in styles:
        if callable(style):
            text = style(text)
            continue
        if text.lstrip()[:1] in "{[":
            text = "<json>" + escape(text) + "</json>"
        text = style.transform_to_string(xdm_node=saxon.parse_xml(xml_text=text))
        results.append(text)
    return results


def spent(seconds):
    began, rounds = time.process_time(), 0
    while time.process_time() - began < seconds:
        work()
        rounds += 1
    return (time.process_time() - began) / rounds


for number, result in enumerate(work(), 1):
    with open(f"{made}/{number}", "w", encoding="utf-8") as file:
        file.write(result)
# The first measurement is discarded: the garbage collector takes a while to adjust the heap's size.
spent(seconds)
print(spent(seconds) * 1e6)
