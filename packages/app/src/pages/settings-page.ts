/** The settings of the instance and its language model, to read: the operator changes them. */
import { chosen, type Html, html } from '@freehold/auth/page-kit';
import { usageOf } from '../models/usage-routes.ts';
import { settingsOf } from '../settings/setting-routes.ts';
import type { SettingRecord } from '../wire/wire.ts';
import { type Exchange, show } from './exchange.ts';
import { facts, section } from './parts.ts';

export async function settingsPage(x: Exchange): Promise<Response> {
  const { t, services, c } = x;
  const { items, retention } = await settingsOf(services, c);
  const days = (count: number | null) =>
    count === null ? t.settings.forGood : t.settings.days(String(count));
  return show(x, {
    title: t.settings.title,
    body: html`<p>${t.settings.what}</p>
<ul class="items">${items.map((item) => settingItem(x, item))}</ul>
${section(
  t.settings.retention,
  facts([
    [t.settings.history, days(retention.historyDays)],
    [t.settings.denials, days(retention.denialsDays)],
  ]),
)}${services.app.models === true && section(t.settings.model, await modelFacts(x))}`,
  });
}

function settingItem({ t }: Exchange, { key, summary, secret, from, value }: SettingRecord): Html {
  const shown =
    from === 'none' ? t.settings.none : secret ? t.settings.secret : html`<code>${value ?? ''}</code>`;
  return html`<li><p><strong>${key}</strong>${from !== 'none' && html` <span class="tag">${t.settings.from[from]}</span>`}</p>
<p class="muted">${chosen(summary)}</p>
<p>${shown}</p></li>`;
}

async function modelFacts({ t, services, c }: Exchange): Promise<Html> {
  const { model, problem, access, month, tokens, limit, refused } = await usageOf(services, c);
  if (model === null) return html`<p>${problem}</p>`;
  return html`${refused !== null && html`<p class="notice">${refused.detail}</p>`}${facts([
    [t.settings.model, html`<code>${model}</code>`],
    ...(access === null ? [] : [[t.settings.access, t.settings.accesses[access]] as const]),
    [t.settings.tokens(month), `${tokens}`],
    [t.settings.limit, limit === null ? t.settings.noLimit : `${limit}`],
  ])}`;
}
