"""Which files may be imported into an instruction file: text types by extension, and a few names without one (R142).

Decides the list. Never looks into a file.
"""

from __future__ import annotations

from pathlib import PurePosixPath

MARKDOWN: frozenset[str] = frozenset({".md", ".markdown", ".mdc", ".mdown", ".mkd"})

# Grouped as a person would look for them. What commonly holds secrets (.env, .pem, .key, .netrc, .tfvars) is not here.
_GROUPS: dict[str, str] = {
    "prose": "md markdown mdc mdown mkd mdx rmd qmd txt text rst adoc asciidoc org tex textile wiki log changelog",
    "data": "json json5 jsonc jsonl ndjson yaml yml toml ini cfg conf properties csv tsv xml xsd xsl xslt plist editorconfig",
    "web": "html htm xhtml css scss sass less styl svg vue svelte astro hbs ejs pug liquid jinja jinja2 j2 njk mustache twig",
    "script": "js jsx mjs cjs ts tsx mts cts coffee sh bash zsh fish ksh ps1 psm1 bat cmd awk sed tcl lua vim el",
    "systems": "c h cc cpp cxx hh hpp hxx ipp inl m mm rs go zig nim d v asm s ld cu cuh",
    "managed": "java kt kts scala sc groovy gradle clj cljs cljc cs csx vb fs fsx fsi swift dart",
    "dynamic": "py pyi pyx pxd rb erb rake gemspec php phtml pl pm t r jl ex exs erl hrl elm hs lhs ml mli mll",
    "query": "sql psql graphql gql proto thrift avsc prisma cypher sparql",
    "build": "cmake mk make mak bazel bzl star nix dockerfile containerfile tf hcl bicep rego cue ninja",
    "other": "lisp lsp scm rkt fnl pas pp ada adb ads f f90 f95 for cob cbl sol move vhd vhdl sv vy diff patch ipynb tmpl tpl feature http",
}

TEXT_EXTENSIONS: frozenset[str] = frozenset(f".{name}" for group in _GROUPS.values() for name in group.split())

# Compared in lower case.
TEXT_NAMES: frozenset[str] = frozenset(
    "readme license licence copying notice authors contributors contributing changelog changes history todo codeowners "
    "makefile gnumakefile dockerfile containerfile justfile rakefile gemfile procfile vagrantfile brewfile jenkinsfile "
    "build workspace version .gitignore .gitattributes .dockerignore .editorconfig .prettierrc .eslintrc .cursorrules "
    ".windsurfrules .clinerules".split()
)


def is_text_name(path: str) -> bool:
    """Whether the name of `path` is on the list; case does not matter."""
    name = PurePosixPath(path).name.lower()
    return name in TEXT_NAMES or PurePosixPath(name).suffix in TEXT_EXTENSIONS


def is_markdown_name(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in MARKDOWN
