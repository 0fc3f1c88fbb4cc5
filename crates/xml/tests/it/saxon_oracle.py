"""Parses and transforms each document of a folder with SaxonC, using its Python interface."""
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from saxonche import PySaxonProcessor

saxon = PySaxonProcessor(license=False)
folder = Path(sys.argv[2])
for style in sorted(folder.glob("*.xsl")):
    compiled = saxon.new_xslt30_processor().compile_stylesheet(stylesheet_text=style.read_text())
    compiled.set_parameter("given", saxon.make_string_value("it's <x>"))
    for document in sorted(folder.glob(style.stem + "-*.xml")):
        node = saxon.parse_xml(xml_file_name=str(document))
        document.with_suffix(".out").write_text(compiled.transform_to_string(xdm_node=node) or "")
