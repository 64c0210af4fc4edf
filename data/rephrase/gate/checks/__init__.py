"""The checks, one a file, cheap ones first; each looks at two readings and gives a finding."""
