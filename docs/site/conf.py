# SPDX-License-Identifier: Apache-2.0
# Sphinx's configuration of the site, for scripts/docs.
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))


def commit():
    """The commit that the site is made of, where this is a checkout."""
    told = subprocess.run(["git", "-C", ROOT, "rev-parse", "--show-toplevel", "--short=10", "HEAD"],
                          capture_output=True, text=True).stdout.split()
    return told[1] if len(told) == 2 and pathlib.Path(told[0]) == ROOT else "unknown"


project = "Carillon"
version = release = re.search(r"project\(carillon VERSION ([0-9.]+)",
                              (ROOT / "CMakeLists.txt").read_text())[1]
extensions = ["myst_parser", "breathe", "type_links"]
smartquotes = False
highlight_language = "none"
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 110
python_maximum_signature_line_length = 110

myst_heading_anchors = 5
myst_enable_extensions = ["html_image"]

breathe_projects = {"carillon": str(ROOT / "build/site-xml")}
breathe_default_project = "carillon"
breathe_domain_by_extension = {"hpp": "cpp", "h": "c"}
breathe_show_include = False
# Ours stand between Doxygen's attributes and the declaration.
c_id_attributes = cpp_id_attributes = ["VKGDR_API", "CARILLON_LAYOUT"]

templates_path = [str(HERE / "templates")]
html_theme = "furo"
html_title = f"Carillon {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_context = {"commit": commit()}
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
# The texts of pages cannot be fetched where the site is opened as a file.
html_show_search_summary = False
html_theme_options = {"top_of_page_buttons": [], "navigation_with_keys": True}
