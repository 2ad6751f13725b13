import { hash } from 'node:crypto';
import type { Secret } from '@countersign/runtime';
import type { AwsV4Signer as Signer } from 'aws4fetch';
import { createHttpSink, urlBelow } from './http-sink.js';
import type { SenderPorts, SinkRequest } from './send.js';
import type { Sink } from './sink.js';

/** A bucket of Amazon S3, or of a server that speaks its protocol. */
export interface S3Settings {
  readonly bucket: string;
  /** Before each key; empty: none. */
  readonly prefix: string;
  /** The address of the server; null: Amazon's in the region. */
  readonly endpoint: URL | null;
  readonly region: string;
  /** How long no version of an object may be deleted; null: the bucket's own rule decides. */
  readonly objectLock: { readonly mode: 'governance' | 'compliance'; readonly days: number } | null;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: Secret;
    readonly sessionToken: Secret | null;
  };
}

const dayMs = 86_400_000;

/** A bucket. Tiles are stored under a condition; a checkpoint becomes a new version of its object. */
export function createS3Sink(name: string, settings: S3Settings, ports: SenderPorts): Sink {
  const { bucket, prefix, endpoint, region } = settings;
  const host = bucket.includes('.') ? `s3.${region}.amazonaws.com/${bucket}` : `${bucket}.s3.${region}.amazonaws.com`;
  const base = endpoint === null ? new URL(`https://${host}`) : urlBelow(endpoint, bucket);
  const before = prefix.replace(/^\/+|\/+$/g, '');
  return createHttpSink({
    ...ports,
    name,
    urlOf: (path) => urlBelow(base, before === '' ? path : `${before}/${path}`),
    headersOf: (request) => signedHeaders(settings, request, ports.clock.now()),
  });
}

async function signedHeaders(
  { region, credentials, objectLock }: S3Settings,
  { method, url, body = new Uint8Array() }: Omit<SinkRequest, 'headers'>,
  nowMs: number,
): Promise<Readonly<Record<string, string>>> {
  const { AwsV4Signer } = await import('aws4fetch');
  const lock: Record<string, string> =
    objectLock === null || method === 'GET'
      ? {}
      : {
          'x-amz-object-lock-mode': objectLock.mode.toUpperCase(),
          'x-amz-object-lock-retain-until-date': new Date(nowMs + objectLock.days * dayMs).toISOString(),
        };
  const signer: Signer = new AwsV4Signer({
    ...{ method, url: url.href, region, service: 's3' },
    accessKeyId: credentials.accessKeyId,
    secretAccessKey: credentials.secretAccessKey.reveal(),
    ...(credentials.sessionToken === null ? {} : { sessionToken: credentials.sessionToken.reveal() }),
    datetime: new Date(nowMs).toISOString().replace(/[:-]|\.[0-9]{3}/g, ''),
    headers: {
      ...lock,
      'x-amz-content-sha256': hash('sha256', body, 'hex'),
      // A lock needs a checksum of what is sent.
      ...(method === 'PUT' ? checksumOf(body) : {}),
    },
  });
  const { headers } = await signer.sign();
  return Object.fromEntries(headers.entries());
}

function checksumOf(body: Uint8Array): Record<string, string> {
  return { 'x-amz-sdk-checksum-algorithm': 'SHA256', 'x-amz-checksum-sha256': hash('sha256', body, 'base64') };
}
