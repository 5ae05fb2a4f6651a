/** Two businesses are provisioned and get their owners. */
import { expect } from 'vitest';
import { PIPES, SPARKS } from './fixture.ts';
import { heard, pipes, type Stage, type StoryStep } from './story.ts';

export function signInSteps({ world, client, cast }: Stage): StoryStep[] {
  return [
    [
      'D-03, D-04 two businesses are provisioned once, configured by the platform alone, and wait for their owners',
      async () => {
        const { manage, config } = world();
        const said: unknown[] = [];
        for (const { tenantId, scopeId, name } of [PIPES, SPARKS, PIPES])
          said.push(await client().provisionScopeLocal({ tenantId, scopeId, name }));
        expect(said).toEqual(['provisioned', 'provisioned', 'unchanged']);
        for (const fixture of [PIPES, SPARKS]) {
          const configured = await manage('configure', fixture, { config });
          expect(configured.json()).toEqual({ keys: Object.keys(config).sort() });
        }
        // A business has a seat from its provisioning on, not from the first look at it.
        said.push(heard(await manage('ownerSeat', PIPES)), await client().appliedMigrationsLocal(pipes));
        await client().projectRolesLocal(pipes, { auditor: ['audit.read', 'order.read'] });
        for (const secret of [null, 'a guess']) {
          const refused = await manage('configure', PIPES, { config: {} }, secret);
          expect(refused.status).toBe(403);
          said.push(heard(refused));
        }
        const crossed = client().appliedMigrationsLocal({ ...pipes, tenantId: SPARKS.tenantId });
        await expect(crossed).rejects.toMatchObject({ code: 'not_found', reason: 'unknown_scope' });
        return said;
      },
    ],
    [
      'A-25 the first person who signs in claims the seat, and the next is no member',
      async () => {
        const { manage, origin, signedIn, visitor } = world();
        const said = [
          heard(await visitor(PIPES).ask('/api/me')),
          heard(await visitor(PIPES).ask('/api/orders')),
        ];
        expect(said.map(({ status }) => status)).toEqual([200, 401]);
        cast.ada = await signedIn(PIPES, 'ada');
        const owner = await cast.ada.ask('/api/me');
        expect(owner.json()).toMatchObject({ status: 'member', roles: [{ key: 'owner' }] });
        const eve = await signedIn(PIPES, 'eve');
        const anonymous = await eve.ask('/api/me');
        expect(anonymous.json()).toMatchObject({ status: 'stranger', seat: { state: 'claimed' } });
        const taken = await manage('ownerClaim', PIPES, { origin: origin(PIPES) });
        expect(taken.status).toBe(409);
        said.push(heard(owner), heard(anonymous), heard(await eve.ask('/api/orders')), heard(taken));
        return said;
      },
    ],
    [
      'A-27 the owner of the other business comes by a link of the platform',
      async () => {
        const { manage, origin, signedIn } = world();
        const made = await manage('ownerClaim', SPARKS, { origin: origin(SPARKS) });
        expect(made.status).toBe(201);
        const token = new URL(made.json<{ url: string }>().url).searchParams.get('claim');
        cast.grace = await signedIn(SPARKS, 'grace');
        const claimed = await cast.grace.ask('/api/claim', { json: { token } });
        expect(claimed.status).toBe(200);
        const me = await cast.grace.ask('/api/me');
        expect(me.json()).toMatchObject({ status: 'member', business: 'Sparks', roles: [{ key: 'owner' }] });
        return [heard(made), heard(claimed), heard(me), heard(await manage('ownerSeat', SPARKS))];
      },
    ],
  ];
}
