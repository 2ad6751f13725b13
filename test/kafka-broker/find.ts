// Prints why there is no Kafka for the tests, and then exits with 1: for scripts/test.mjs.
import { findKafka } from './broker.ts';

const source = await findKafka();
if (source.from === 'nowhere') process.stdout.write(source.why);
process.exitCode = source.from === 'nowhere' ? 1 : 0;
