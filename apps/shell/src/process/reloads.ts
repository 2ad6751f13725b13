import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { ReadinessCheck } from '../http/health.js';

/** A file that is read again when it changes. */
export interface ReloadedFile {
  readonly name: 'tokens' | 'policy' | 'policy-shadow' | 'receipts' | 'witnesses';
  /** False while the file has a content that cannot be used, and an earlier one is in force. */
  readonly isCurrent: () => boolean;
}

/** Says which files have a content that cannot be used. The process is ready: it goes on with what was in force. */
export function createReloadCheck(files: () => readonly ReloadedFile[]): ReadinessCheck {
  return {
    name: 'configuration',
    check: () => {
      const old = files().filter(({ isCurrent }) => !isCurrent());
      if (old.length === 0) return { status: 'ok' };
      const names = old.map(({ name }) => name).join(', ');
      return {
        status: 'ok',
        note: `changed and cannot be used: ${names}. The earlier rights and rules are in force; the log of the process says why`,
      };
    },
  };
}

/** Adds the metric of the last reload of each file. */
export function observeReloads(registry: Registry, files: () => readonly ReloadedFile[]): void {
  new Gauge({
    name: 'countersign_config_last_reload_successful',
    help: '0 while a file has a content that cannot be used, and an earlier one is in force.',
    labelNames: ['file'],
    registers: [registry],
    collect() {
      for (const { name, isCurrent } of files()) this.set({ file: name }, isCurrent() ? 1 : 0);
    },
  });
}
