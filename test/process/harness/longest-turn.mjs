// Loaded into a server: writes the longest time in ms that its main thread worked between two looks at a timer, and begins anew, on
// SIGUSR2. It is processor time, so that other load on the machine makes no difference.
import { writeFileSync } from 'node:fs';

const file = process.env.LONGEST_TURN_FILE;
const cpuMs = ({ user, system }) => (user + system) / 1000;

let last = cpuMs(process.threadCpuUsage());
let longest = 0;
setInterval(() => {
  const now = cpuMs(process.threadCpuUsage());
  longest = Math.max(longest, now - last);
  last = now;
}, 2).unref();
process.on('SIGUSR2', () => {
  writeFileSync(file, `${String(Math.round(longest))}\n`);
  longest = 0;
});
