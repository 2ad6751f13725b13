import { hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { z } from 'zod';

/**
 * The baseline: the same four durable steps with group commit, zod and SHA-256, without product logic: no rules, no
 * roles, no views, no stream, no second index. Any durable service in Node has at least these costs.
 */
export interface Floor {
  readonly step: (name: StepName, body: string) => Promise<{ readonly id: number }>;
  readonly flushes: () => number;
  readonly close: () => void;
}

export type StepName = 'requested' | 'answered' | 'claimed' | 'outcome';

export const stepNames: readonly StepName[] = ['requested', 'answered', 'claimed', 'outcome'];

/** The gain of each step. */
export const schemas = {
  requested: z.strictObject({
    runId: z.string(),
    calls: z.array(
      z.strictObject({
        toolCallId: z.string(),
        toolName: z.string(),
        arguments: z.record(z.string(), z.unknown()),
        needsApproval: z.boolean(),
        reason: z.string(),
      }),
    ),
  }),
  answered: z.strictObject({ decision: z.strictObject({ type: z.string() }), reason: z.string() }),
  claimed: z.strictObject({ resolverId: z.string() }),
  outcome: z.strictObject({ attempt: z.int(), status: z.string(), output: z.record(z.string(), z.unknown()) }),
} as const;

/** Opens the baseline's log: one table in WAL with `synchronous=FULL`, one fsync for all steps that arrive together. */
export function openFloor(folder: string): Floor {
  const database = new DatabaseSync(join(folder, 'floor.db'));
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=4000');
  database.exec('CREATE TABLE steps (id INTEGER PRIMARY KEY, name TEXT, digest TEXT, body TEXT) STRICT');
  const insert = database.prepare('INSERT INTO steps (name, digest, body) VALUES (?, ?, ?)');
  let waiting: { row: [string, string, string]; resolve: (answer: { id: number }) => void }[] = [];
  let flushes = 0;
  const flush = (): void => {
    const group = waiting;
    waiting = [];
    database.exec('BEGIN IMMEDIATE');
    const ids = group.map(({ row }) => Number(insert.run(...row).lastInsertRowid));
    database.exec('COMMIT');
    flushes += 1;
    group.forEach(({ resolve }, index) => {
      resolve({ id: ids[index] ?? 0 });
    });
  };
  return {
    step: (name, body) => {
      const parsed = schemas[name].parse(JSON.parse(body));
      const text = JSON.stringify(parsed);
      return new Promise((resolve) => {
        if (waiting.length === 0) setImmediate(flush);
        waiting.push({ row: [name, hash('sha256', text), text], resolve });
      });
    },
    flushes: () => flushes,
    close: () => {
      database.close();
    },
  };
}
