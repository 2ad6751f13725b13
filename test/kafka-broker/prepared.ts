import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** What is made once from the jars, beside them, so that each node starts with half of the processor time. */
export const preparedFiles = (jars: string): { readonly classes: string; readonly bootstrap: string } => ({
  /** An archive of the classes that a node loads (`-XX:SharedArchiveFile`). Java ignores one that does not fit. */
  classes: join(jars, 'classes.jsa'),
  /** The first records of a cluster without users, as Kafka's own tool writes them. */
  bootstrap: join(jars, 'bootstrap.checkpoint'),
});

/** A node of Kafka that was not started yet. */
interface NewNode {
  readonly format: () => Promise<void>;
  readonly spawn: (flags: readonly string[]) => void;
  readonly listening: () => Promise<void>;
  readonly end: (signal: 'SIGTERM') => Promise<void>;
}

type Prepare = (node: NewNode, data: string) => Promise<void>;

/** Makes both with a node that is created for this, which takes about 10 s of processor time. Another run that is at it is left alone. */
export async function prepareOnce(jars: string, withNode: (prepare: Prepare) => Promise<void>): Promise<void> {
  const { classes, bootstrap } = preparedFiles(jars);
  if (existsSync(classes)) return;
  const own = `${classes}-new`;
  const isFirst = await mkdir(`${classes}-lock`).then(
    () => true,
    () => false,
  );
  if (!isFirst) return;
  try {
    await withNode(async (node, data) => {
      await node.format();
      node.spawn([`-XX:ArchiveClassesAtExit=${own}`]);
      await node.listening();
      await node.end('SIGTERM');
      await copyFile(join(data, 'bootstrap.checkpoint'), `${bootstrap}-new`);
    });
    // Whole under their names, or not at all.
    await rename(`${bootstrap}-new`, bootstrap);
    await rename(own, classes);
  } finally {
    await rm(`${classes}-lock`, { recursive: true, force: true });
  }
}
