/** The requests of programs that a browser keeps while its person signs in. */
import { expect, test } from 'vitest';
import { keepQuery, keptQuery } from './kept-query.ts';

const AT = 'https://pipes.example/oauth/authorize';

/** A browser at the authorization endpoint, with its cookies in the order in which they were made. */
function makeBrowser() {
  const cookies = new Map<string, string>([['sb_session', 'x']]);
  const headers = () => new Headers({ cookie: [...cookies].map((each) => each.join('=')).join('; ') });
  return {
    cookies,
    keep: (state: string): string => {
      const answer = keepQuery(new URLSearchParams({ state }), {
        headers: headers(),
        origin: 'https://pipes.example',
        signInUrl: (returnTo) => returnTo,
      });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = '', maxAge] = /^([^=]+)=([^;]*);.* Max-Age=(\d+)/.exec(set) ?? [];
        if (maxAge === '0') cookies.delete(name);
        else cookies.set(name, value);
      }
      return answer.headers.get('location') ?? '';
    },
    comeBack: (location: string): string | null =>
      keptQuery({ url: new URL(location, AT).href, headers: headers() }).query?.get('state') ?? null,
  };
}

test('tabs come back each to its own request', () => {
  const browser = makeBrowser();
  const locations = ['one', 'two', 'three', 'four'].map(browser.keep);
  expect(locations.map(browser.comeBack)).toEqual(['one', 'two', 'three', 'four']);
});

test('a page that begins many fills no cookie jar: the oldest is dropped, and nothing else', () => {
  const browser = makeBrowser();
  const locations = Array.from({ length: 50 }, (_, index) => browser.keep(String(index)));
  expect(browser.cookies.size).toBe(1 + 4);
  expect(browser.cookies.has('sb_session')).toBe(true);
  expect(locations.map(browser.comeBack).filter((state) => state !== null)).toEqual(['46', '47', '48', '49']);
});
