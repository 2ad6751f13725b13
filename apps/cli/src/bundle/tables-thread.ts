import { parentPort, workerData } from 'node:worker_threads';
import type { FromTables, ToTables } from './tables.js';
import { writeTables } from './write-tables.js';

// The thread that makes the tables of an export (tables.ts).
const port = parentPort;
if (port === null) throw new Error('this module runs as a thread of an export');
const tell = (message: FromTables): void => {
  port.postMessage(message);
};

const lengths = new Map<string, number>();
let isEnded = false;
let wake = (): void => undefined;
port.on('message', (message: ToTables) => {
  if (message === 'end') isEnded = true;
  else lengths.set(message.path, message.length);
  wake();
});

const changed = (): Promise<void> =>
  new Promise((resolve) => {
    wake = resolve;
  });
const folder = workerData as string;
const onRows = (rows: number): void => {
  tell({ rows });
};
tell({ files: await writeTables(folder, { lengths, isEnded: () => isEnded, changed }, onRows) });
port.close();
