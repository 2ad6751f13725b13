import { nodeSafety } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';

/** Logs a warning if this process runs on a Node with known security flaws. Call it once, at the start. */
export function warnOfUnsafeNode(log: Log): void {
  const node = nodeSafety();
  if (node.safe) return;
  const remedy = `install Node ${node.update} or newer and restart (docs/operations.md, "Updating Node")`;
  log.warn({ version: node.version, update: node.update, remedy }, `Node ${node.version} has known security flaws`);
}
