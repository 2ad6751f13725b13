// The baseline over HTTP: `node bench/floor-server.ts FOLDER`. Prints its port; `/stats` returns its number of flushes.
import fastify from 'fastify';
import { openFloor, stepNames } from './floor.ts';

const floor = openFloor(process.argv[2] ?? '.');
const server = fastify({ bodyLimit: 4 * 1024 * 1024 });
server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
  done(null, body);
});
for (const name of stepNames) server.post(`/${name}`, (request) => floor.step(name, request.body as string));
server.get('/stats', () => ({ flushes: floor.flushes() }));
await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
console.log(typeof address === 'object' ? address?.port : address);
process.on('SIGTERM', () => {
  void server.close().then(() => {
    floor.close();
    process.exit(0);
  });
});
