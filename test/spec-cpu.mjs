// The processor time of a spec, in its worker and in the processes that the worker has waited for. Linux tells both; elsewhere the
// time of the children is missing.
import { appendFileSync, readFileSync } from 'node:fs';

/** Clock ticks a second, as Linux shows them to programs on every usual platform (`sysconf(_SC_CLK_TCK)`). */
const ticksPerSecond = 100;

/** Returns the processor time of this process and its ended children, in milliseconds. */
export function usedCpuMs() {
  try {
    // The fields after the name in parentheses: 14 to 17 of proc_pid_stat(5) are utime, stime, cutime, cstime.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 1000) / ticksPerSecond;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/** Hands the processor time of a spec to the reporter. A spec whose environment failed has no entry. */
export function recordCpu(path, cpuMs) {
  const file = process.env.COUNTERSIGN_TEST_CPU;
  if (file) appendFileSync(file, `${JSON.stringify([path, cpuMs])}\n`);
}

/** Returns the recorded processor times in milliseconds, by the path of the spec. */
export function recordedCpu() {
  try {
    const lines = readFileSync(process.env.COUNTERSIGN_TEST_CPU ?? '', 'utf8')
      .split('\n')
      .filter(Boolean);
    return new Map(lines.map((line) => JSON.parse(line)));
  } catch {
    return new Map();
  }
}
