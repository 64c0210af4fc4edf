"""Web pages: drawn by a headless browser behind the guard, cleaned, composed, changed on purpose."""
