// Writes to its log and ends: `killed` at once by SIGKILL, `exits` after a line on stdin, with the exit code 3.
import { createLog } from '@countersign/runtime';

const log = createLog({ level: 'info' });
if (process.argv[2] === 'killed') {
  for (let line = 1; line <= 100; line += 1) log.info({}, `line ${line} of 100`);
  process.kill(process.pid, 'SIGKILL');
}
process.stdin.once('data', () => {
  for (const line of [1, 2, 3]) log.info({ line }, 'a line without a reader');
  process.exit(3);
});
