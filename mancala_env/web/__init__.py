"""The page that plays and studies in a browser, and the server that adds what a browser cannot do."""
