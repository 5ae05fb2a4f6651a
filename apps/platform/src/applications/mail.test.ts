import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from 'vitest';
import { openMail } from './mail.ts';

const mail = { to: 'ada@example.org', subject: 'Hello', text: 'There' };

test('while developing, mail stays in the outbox', async () => {
  const { mailer, outbox } = openMail({ mail: null, production: false }, () => 0);
  await mailer.send(mail);
  const page = await outbox?.handle(new Request('http://localhost:8787/outbox'), {
    clientAddress: '127.0.0.1',
  });
  expect(await page?.text()).toContain('To ada@example.org');
});

test('in production without a server, sending fails and says which settings are missing', async () => {
  const { mailer, outbox } = openMail({ mail: null, production: true }, () => 0);
  expect(outbox).toBeNull();
  await expect(mailer.send(mail)).rejects.toThrow(/FREEHOLD_SMTP_URL and FREEHOLD_MAIL_FROM/);
});

test.each([true, false])(
  'with a server, mail goes there and nowhere else (production: %s)',
  async (production) => {
    let reached = 0;
    const server = createServer((socket) => {
      reached += 1;
      socket.on('error', () => undefined);
      socket.end('421 not today\r\n');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const settings = { mail: { url: `smtp://127.0.0.1:${port}`, from: 'robot@acme.test' }, production };
    const { mailer, outbox, close } = openMail(settings, () => 0);
    expect(outbox).toBeNull();
    await expect(mailer.send(mail)).rejects.toMatchObject({ name: 'MailError' });
    expect(reached).toBeGreaterThan(0);
    close();
    await once(server.close(), 'close');
  },
);
