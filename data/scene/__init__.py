"""Three-dimensional scenes: meshes, POV-Ray and OpenSCAD code, drawn behind the guard, and what is known of them."""
