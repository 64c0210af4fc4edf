"""SVG of strangers made safe and canonical, drawn in a guarded child, and paired with its picture."""
