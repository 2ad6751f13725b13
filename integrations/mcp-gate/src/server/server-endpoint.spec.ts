import { describe, expect, it } from '@jest/globals';
import { endpointOf } from './server-endpoint.js';

describe('the endpoint of a server', () => {
  it('is equal for the same command in the same folder', () => {
    const command = ['node', 'server.mjs', '.'];
    expect(endpointOf(command, '/work')).toBe(endpointOf([...command], '/work'));
    expect(endpointOf(command)).toBe(endpointOf(command, process.cwd()));
    expect(endpointOf(command)).toMatch(/^mcp-server_[0-9a-f]{16}$/);
  });

  it.each([
    [['node', 'other.mjs', '.'], '/work'],
    [['node', 'server.mjs'], '/work'],
    [['node', 'server.mjs .'], '/work'],
    [['node', 'server.mjs', '.'], '/production'],
  ])('differs for %j in %s', (command, folder) => {
    expect(endpointOf(command, folder)).not.toBe(endpointOf(['node', 'server.mjs', '.'], '/work'));
  });

  it('is that of the address, without its credentials', () => {
    const of = (url: string): string => endpointOf(new URL(url));
    expect(of('https://user:secret@mcp.example.com/mcp')).toBe(of('https://mcp.example.com/mcp#part'));
    expect(of('https://mcp.example.com/mcp?project=1')).not.toBe(of('https://mcp.example.com/mcp?project=2'));
  });
});
