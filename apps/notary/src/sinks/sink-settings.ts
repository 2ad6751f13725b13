import type { Clock, Secret } from '@countersign/runtime';
import type { Announcer } from './announcer.js';
import { createFolderSink } from './folder-sink.js';
import { createHttpSink, urlBelow } from './http-sink.js';
import { createS3Sink } from './s3-sink.js';
import type { S3Settings } from './s3-sink.js';
import type { Sink } from './sink.js';

/** A place to which the log is pushed. */
export type SinkSettings =
  /** Kafka's topic of checkpoints. */
  | { readonly type: 'kafka' }
  | { readonly type: 'folder'; readonly folder: string }
  | ({ readonly type: 's3'; readonly allowPrivateNetwork: boolean } & S3Settings)
  | {
      readonly type: 'https';
      readonly url: URL;
      readonly headers: Readonly<Record<string, string | Secret>>;
      readonly allowPrivateNetwork: boolean;
    };

/** Opens the sinks. None of them is asked before there is something to push. */
export function openSinks(
  all: readonly SinkSettings[],
  clock: Clock,
  publish?: Announcer['publish'],
): readonly (Sink | Announcer)[] {
  return all.map((settings, at) => {
    const name = `sinks[${String(at)}] (${settings.type})`;
    if (settings.type !== 'kafka') return openSink(name, settings, clock);
    if (publish === undefined) throw new Error(`${name}: this process has no Kafka`);
    return { name, publish, close: () => undefined };
  });
}

function openSink(name: string, settings: Exclude<SinkSettings, { readonly type: 'kafka' }>, clock: Clock): Sink {
  switch (settings.type) {
    case 'folder':
      return createFolderSink(name, settings.folder);
    case 's3':
      return createS3Sink(name, settings, { allowPrivateNetwork: settings.allowPrivateNetwork, clock });
    case 'https': {
      const { url, headers, allowPrivateNetwork } = settings;
      const revealed = Object.entries(headers).map(([header, value]) => [header, reveal(value)] as const);
      return createHttpSink({
        ...{ name, clock, allowPrivateNetwork },
        urlOf: (path) => urlBelow(url, path),
        headersOf: () => Promise.resolve(Object.fromEntries(revealed)),
      });
    }
  }
}

function reveal(value: string | Secret): string {
  return typeof value === 'string' ? value : value.reveal();
}
