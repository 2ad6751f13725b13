import { isIPv4 } from 'node:net';

/** Returns whether a host, as it is written in a URL or a setting, is always this machine. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '[::1]' || name === '::1' || (isIPv4(name) && name.startsWith('127.'));
}
