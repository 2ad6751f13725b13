// One broker for several runs of `npm test` at the same time: prints its address, and ends with its standard input.
import { startKafkaBroker } from './broker.ts';

const broker = await startKafkaBroker();
process.stdout.write(`${broker.brokers.join(',')}\n`);
process.stdin.resume().once('end', () => void broker.stop());
