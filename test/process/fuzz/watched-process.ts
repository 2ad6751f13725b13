import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { createHttp } from '../harness/http.js';

export const memoryMax = 1024 * 1024 * 1024;
/** Processor time, not wall time, so that other load on the machine makes no difference. */
export const cpuMsMax = 10_000;

/** The CPU time of a process. Its main thread cannot have been blocked for longer. */
export function cpuMsOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  return ticks * 10;
}

/** Requests `/healthz` until it is stopped; returns the number of responses. */
export function watch(port: number): () => Promise<number> {
  const http = createHttp(port);
  const watching = { isOver: false };
  const answered = (async () => {
    let count = 0;
    while (!watching.isOver) {
      const { status } = await http.send({ method: 'GET', path: '/healthz' });
      expect(status).toBe(200);
      count += 1;
      await sleep(20);
    }
    http.close();
    return count;
  })();
  return () => {
    watching.isOver = true;
    return answered;
  };
}

/** The most memory that a process has had, in bytes. */
export function memoryOf(pid: number): number {
  const [, kilobytes = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}
