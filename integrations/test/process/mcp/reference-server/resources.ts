import { ResourceTemplate, type McpServer } from '@modelcontextprotocol/server';
import { image } from './contents.ts';

/** Adds the resources, and the requests about them. */
export function addResources(mcp: McpServer): void {
  const add = (
    name: string,
    mimeType: string,
    content: { readonly text: string } | { readonly blob: string },
  ): void => {
    const uri = `test://${name}`;
    mcp.registerResource(name, uri, { mimeType }, () => ({ contents: [{ uri, mimeType, ...content }] }));
  };
  add('static-text', 'text/plain', { text: 'This is the content of the static text resource.' });
  add('static-binary', 'image/png', { blob: image });
  add('watched-resource', 'text/plain', { text: 'Watched resource content' });
  const mimeType = 'application/json';
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  mcp.registerResource('template', template, { mimeType }, ({ href }, { id }) => ({
    contents: [
      { uri: href, mimeType, text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }) },
    ],
  }));
  mcp.server.setRequestHandler('resources/subscribe', () => ({}));
  mcp.server.setRequestHandler('resources/unsubscribe', () => ({}));
}
