import { hash } from 'node:crypto';
import { parseCheckpoint, parseNote } from '@countersign/audit';
import { readyTree } from './push-log.js';
import type { Pushed, Pushing } from './push-log.js';

/** A message with a checkpoint. */
export interface CheckpointMessage {
  /** The tenant, so that its checkpoints keep their order. */
  readonly key: string;
  /** The signed checkpoint. */
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A place that gets checkpoints alone, and cannot be read. */
export interface Announcer {
  readonly name: string;
  readonly publish: (message: CheckpointMessage) => Promise<void>;
  readonly close: () => void;
}

/** Publishes a checkpoint, once or more. */
export async function announce({ publish }: Announcer, pushing: Pushing): Promise<Pushed> {
  const { tenant, note } = pushing;
  const ready = readyTree(pushing);
  if (ready === undefined) return { status: 'waits' };
  await publish(messageOf(tenant, note));
  return { status: 'pushed', given: ready.signed.size };
}

function messageOf(tenant: string, note: string): CheckpointMessage {
  const { origin = '', size = 0 } = parseCheckpoint(parseNote(note)?.text ?? '') ?? {};
  return {
    key: tenant,
    value: note,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      ce_specversion: '1.0',
      // Its origin names tenant and epoch; a checkpoint that gets cosignatures later has the same id.
      ce_id: `${hash('sha256', origin, 'hex').slice(0, 32)}/${String(size)}`,
      ce_source: `/countersign/${encodeURIComponent(tenant)}`,
      ce_type: 'CheckpointSigned',
      ce_subject: origin,
    },
  };
}
