from tests.histories.redaction import main

main()
