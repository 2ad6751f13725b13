import { readFileSync } from 'node:fs';

/** The resources that a process has used since its start, from the kernel. */
export interface Usage {
  readonly cpuMs: number;
  readonly writtenBytes: number;
  readonly readCalls: number;
  readonly writeCalls: number;
  readonly rssBytes: number;
}

const ticksPerSecond = 100;

/** Reads /proc. On a system without it every figure is NaN, and the table shows that. */
export function usageOf(pid: number): Usage {
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const io = readFileSync(`/proc/${String(pid)}/io`, 'utf8');
    const ioValue = (name: string): number => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1]);
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    return {
      cpuMs: ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond,
      writtenBytes: ioValue('write_bytes'),
      readCalls: ioValue('syscr'),
      writeCalls: ioValue('syscw'),
      rssBytes: Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) * 1024,
    };
  } catch {
    return { cpuMs: NaN, writtenBytes: NaN, readCalls: NaN, writeCalls: NaN, rssBytes: NaN };
  }
}

/** The resources used between two readings; `rssBytes` is that of the later one. */
export function usageBetween(before: Usage, after: Usage): Usage {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    writtenBytes: after.writtenBytes - before.writtenBytes,
    readCalls: after.readCalls - before.readCalls,
    writeCalls: after.writeCalls - before.writeCalls,
    rssBytes: after.rssBytes,
  };
}
