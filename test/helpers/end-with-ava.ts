/** AVA’s processes for test files go on when AVA itself was killed, and so does everything that they have started. */
process.on('disconnect', () => process.exit(1));
