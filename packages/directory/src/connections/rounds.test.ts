import { anyCharacter } from '@freehold/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTicket, signTicket } from './rounds.ts';

const key = new Uint8Array(32).fill(7);
const claims = {
  id: 'cnr_01jd0000000000000000000001',
  tenant: 'tnt_01jd0000000000000000000001',
  scope: 'scp_01jd0000000000000000000001',
  vertical: 'fieldwork',
  provider: 'calendar',
  createdBy: 'prn_01jd0000000000000000000001',
  subjectRef: 'Ünser Kalender',
  returnUrl: 'https://acme.example.com/settings?tab=1',
  expiresAtMs: 1_800_000_000_000,
};

test('a ticket carries its claims in a form that fits into an address', () => {
  const ticket = signTicket(key, claims);
  expect(readTicket(key, ticket)).toEqual(claims);
  expect(ticket).toMatch(/^[\w-]+\.[\w-]+$/);
});

test('a ticket of another key is refused', () => {
  expect(readTicket(new Uint8Array(32).fill(8), signTicket(key, claims))).toBeNull();
});

test('a ticket with any one character changed, added or removed is refused', () => {
  const ticket = signTicket(key, claims);
  for (let at = 0; at < ticket.length; at++) {
    const other = ticket[at] === 'A' ? 'B' : 'A';
    expect(readTicket(key, ticket.slice(0, at) + other + ticket.slice(at + 1)), `${at}`).toBeNull();
    expect(readTicket(key, ticket.slice(0, at) + ticket.slice(at + 1)), `${at}`).toBeNull();
    expect(readTicket(key, ticket.slice(0, at) + other + ticket.slice(at)), `${at}`).toBeNull();
  }
});

test('no other text is a ticket, and none makes it throw', () => {
  for (const text of ['', '.', 'a.b', 'a.b.c', `${signTicket(key, claims)}=`, `${signTicket(key, claims)}.`])
    expect(readTicket(key, text)).toBeNull();
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => readTicket(key, text) === null));
});

test('any claims come back as they were', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.nat(),
      (subjectRef, returnUrl, expiresAtMs) => {
        const some = { ...claims, subjectRef, returnUrl, expiresAtMs };
        expect(readTicket(key, signTicket(key, some))).toEqual(some);
      },
    ),
  );
});
