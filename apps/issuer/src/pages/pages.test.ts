import { expect, test } from 'vitest';
import { seededPeople } from '../people/people.ts';
import { html } from './html.ts';
import { renderErrorPage } from './other-pages.ts';
import { renderSignInPage } from './sign-in-page.ts';

const page = {
  action: '/interaction/abc',
  clientName: 'Acme',
  clientHost: 'acme.localhost:8787',
  formsLeadTo: ['http://acme.localhost:8787/api/auth/callback'],
  people: seededPeople,
};

test('inserted values are escaped, in text and in attributes', () => {
  const hostile = `"><script>alert('x')</script>&`;
  const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;';
  expect(html`<i title="${hostile}">${hostile}</i>`.text).toBe(`<i title="${escaped}">${escaped}</i>`);
  const { body } = renderSignInPage({ ...page, clientName: hostile, clientHost: hostile, refused: hostile });
  expect(body).not.toContain('<script');
  expect(body).not.toContain(hostile);
  expect(renderErrorPage({ code: hostile, description: hostile }).body).not.toContain('<script');
});

test('the policy allows no script, no frame, and forms only towards the issuer and the client', () => {
  const policy = renderSignInPage(page).headers['content-security-policy'] ?? '';
  const directives = policy.split('; ');
  expect(directives).toContain("default-src 'none'");
  expect(directives).toContain("frame-ancestors 'none'");
  expect(directives).toContain("form-action 'self' http://acme.localhost:8787");
  expect(policy).not.toMatch(/script-src|unsafe|\*/);
});

test('every person is a button with their name, and the heading names the client', () => {
  const { body } = renderSignInPage(page);
  expect(body).toContain('<h1>Sign in to Acme</h1>');
  expect(body).toContain('acme.localhost:8787');
  for (const person of seededPeople) {
    expect(body).toMatch(new RegExp(`<button[^>]* value="${person.login}"`));
    expect(body.replaceAll(/<[^>]+>/g, '')).toContain(`Continue as ${person.name}`);
  }
  expect(body).not.toContain('autofocus');
  expect(body).not.toContain('type="password"');
});

test('a suggestion has the focus, and a suggested person who is not listed is typed in already', () => {
  const known = renderSignInPage({ ...page, suggested: 'grace' }).body;
  expect(known).toMatch(/<button[^>]* value="grace" autofocus>/);
  expect(known.match(/autofocus/g)).toHaveLength(1);
  const anonymous = renderSignInPage({ ...page, suggested: 'new-one' }).body;
  expect(anonymous).toMatch(/<input id="other"[^>]* value="new-one"[^>]* autofocus/s);
  expect(anonymous.match(/autofocus/g)).toHaveLength(1);
});

test('a refused name is explained beside the field', () => {
  const { body } = renderSignInPage({ ...page, suggested: 'grace', refused: 'No Name' });
  expect(body).toMatch(/value="No Name"[^>]* aria-invalid="true" aria-describedby="other-problem"/s);
  expect(body).toContain('id="other-problem"');
  expect(body.match(/autofocus/g)).toHaveLength(1);
});
