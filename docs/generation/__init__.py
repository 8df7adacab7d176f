"""Generator of the reference pages, and the Sphinx extension that builds the site.

Tables of parameters and settings and the OpenAPI document are committed, so that a change of them shows in review;
`python -m docs.generation` writes them. The pages of the HTTP and the Python reference are written while the site is
built.
"""
