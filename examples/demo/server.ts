// `--with-server`: a separate Countersign for the demo, on a free port and in its own folder.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

const bin = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bin', 'countersign.js');

export interface OwnServer {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

export async function startOwnServer(dataFolder: string): Promise<OwnServer> {
  const child = spawn(process.execPath, [bin, 'start', 'standalone'], {
    env: {
      ...process.env,
      COUNTERSIGN_DATA: dataFolder,
      COUNTERSIGN_PORT: '0',
      COUNTERSIGN_LOG_LEVEL: 'warn',
      // Together with the channel: the server notices when the demo was killed.
      COUNTERSIGN_LAUNCHED: '1',
    },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const [, found] = /ready at (http:\S+)/.exec(text) ?? [];
      if (found !== undefined) resolve(found);
    });
    child.once('exit', (code) => {
      reject(new Error(`the server ended with ${String(code)} before it was ready`));
    });
  });
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
