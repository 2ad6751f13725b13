// The web: free for the listed domains. An approval allows one fetch; add_domain adds the domain permanently.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { gateTool, type GateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

export function createWebTools(domainsFile: string): readonly GateTool[] {
  const domains = (): readonly string[] =>
    existsSync(domainsFile) ? (JSON.parse(readFileSync(domainsFile, 'utf8')) as readonly string[]) : [];

  /** Never throws: a text that is not a URL is not listed. */
  const isListed = (url: string): boolean =>
    URL.canParse(url) && domains().includes(new URL(url).hostname.toLowerCase());

  const webFetch = gateTool({
    name: 'web_fetch',
    description: 'Fetches a page',
    inputSchema: z.strictObject({
      url: z.url({ protocol: /^http$/ }).transform((url) => (URL.canParse(url) ? new URL(url).href : url)),
    }),
    needsApproval: ({ url }) => !isListed(url),
    approvalPrompt: ({ url }) => `Fetch ${url}, once`,
    execute: async ({ url }, { approval, signal }) => {
      // Checked again at the run: the domain may have been removed from the list.
      if (approval === null && !isListed(url)) throw new Error(`${url} is not on a listed domain`);
      return fetchPage(url, signal);
    },
  });

  const addDomain = gateTool({
    name: 'add_domain',
    description: 'Lets every future fetch from a domain through',
    inputSchema: z.strictObject({ domain: z.hostname().transform((domain) => domain.toLowerCase()) }),
    needsApproval: true,
    approvalPrompt: ({ domain }) => `Open ${domain} for good`,
    idempotent: true,
    execute: ({ domain }) => {
      writeFileSync(domainsFile, JSON.stringify([...new Set([...domains(), domain])]));
      return { domains: domains() };
    },
  });
  return [webFetch, addDomain];
}

/** The demo's own sites are on this machine; the network's DNS is not asked about `.test`. */
const findHost: LookupFunction = (hostname, options, callback) => {
  lookup(hostname.endsWith('.test') ? '127.0.0.1' : hostname, options, callback);
};

const pageCharactersMax = 10_000;

/** Redirects are not followed: a listed domain could lead to any other. */
function fetchPage(url: string, signal: AbortSignal): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { lookup: findHost, signal }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text = (text + chunk).slice(0, pageCharactersMax);
      });
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, text });
      });
      response.on('error', reject);
    });
    request.on('error', reject);
  });
}
