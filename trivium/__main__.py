from trivium.cli import main

main()
