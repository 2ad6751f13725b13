import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const [secret] = process.env.HOOK_SECRET.trim().split(/\s+/);
const webhook = new Webhook(secret);
createServer(async (request, response) => {
  const body = (await Array.fromAsync(request)).join('');
  try {
    const { type, data } = webhook.verify(body, request.headers);
    console.log(type, data.callId);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(Number(process.env.PORT ?? 8080));
