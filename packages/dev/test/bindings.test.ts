/** The settings of an application while it is built. */
import { expect, test } from 'vitest';
import { openDev } from './open-dev.ts';
import { makeSmallApp } from './small-app.ts';

test('settings of .env are those of the application', async () => {
  using app = makeSmallApp();
  app.write('.env', 'GREETING="Good morning"\n');
  app.edit('src/app.ts', 'env: {}', "env: { GREETING: { summary: 'A word' } }");
  app.edit(
    'src/app.ts',
    'authenticatedPrincipal: signedIn()',
    "routes: (app, tools) => void app.get('/greeting', async (c) => c.json((await tools.settings(c)).GREETING)),\n  authenticatedPrincipal: signedIn()",
  );
  await using dev = await openDev(app);
  expect(await (await dev.get('/greeting')).json()).toBe('Good morning');
});
