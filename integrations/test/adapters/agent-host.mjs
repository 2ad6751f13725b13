// Runs the module of an agent again for each run of the kit: the agent makes all of its objects again, and the framework is loaded once.
import { pathToFileURL } from 'node:url';

const { href } = pathToFileURL(process.argv[2] ?? '');
for (let run = 1; ; run += 1) await import(`${href}?run=${run}`);
