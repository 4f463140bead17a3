from benchmarks.redaction import main

main()
