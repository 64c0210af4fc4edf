"""PDF to text: lines with their places (`read`, in a guarded child), made paragraphs in reading order (`layout`)."""
