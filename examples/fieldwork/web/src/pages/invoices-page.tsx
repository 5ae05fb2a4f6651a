/** The invoices, and what work is charged at. */
import { useEffect, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { Badge, EmptyState, PageHead } from '../components/basics.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { Link } from '../components/link.tsx';
import { LoadedPages } from '../components/pages.tsx';
import { SettingCard, type SettingFormProps } from '../components/setting-card.tsx';
import { type Answer, call, type Rates } from '../lib/api.ts';
import { formatDay, formatMoney, parseMoney } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

const PAGE_SIZE = 50;

export function InvoicesPage() {
  const { can } = useSession();
  const invoices = useLoad(
    'invoices',
    async (signal) => (await call('invoice/list', { limit: PAGE_SIZE }, { signal })).value,
  );
  useEffect(() => {
    document.title = 'Invoices · Fieldwork';
  }, []);
  return (
    <div className="page">
      <PageHead
        title="Invoices"
        lead="Drafted when work is completed, numbered when the order is invoiced."
      />
      <div className="order-columns">
        <div className="order-main">
          <LoadedPages
            name="invoices"
            loaded={invoices}
            more={async (cursor) => (await call('invoice/list', { limit: PAGE_SIZE, cursor })).value}
            empty={
              <EmptyState icon="receipt" title="No invoices yet">
                <p>Complete an order, and its invoice is drafted for you.</p>
                <Link className="button button-plain" href="/">
                  Show the orders
                </Link>
              </EmptyState>
            }
          >
            {(items) => (
              <ul className="rows">
                {items.map((invoice) => (
                  <li key={invoice.id}>
                    <Link href={`/orders/${invoice.order.id}`} className="row">
                      <span className="number">
                        {invoice.number === null ? '—' : `No. ${invoice.number}`}
                      </span>
                      <span className="row-main">
                        <strong>{invoice.customer.name}</strong>
                        <small>
                          Order #{invoice.order.number}, {invoice.order.title}
                        </small>
                      </span>
                      <span className="row-when">{formatDay(invoice.issuedAt ?? invoice.createdAt)}</span>
                      <span className="amount">{formatMoney(invoice.totalCents, invoice.currency)}</span>
                      <Badge tone={invoice.state === 'issued' ? 'good' : 'neutral'}>
                        {invoice.state === 'issued' ? 'Issued' : 'Draft'}
                      </Badge>
                    </Link>
                  </li>
                ))}
              </ul>
            )}
          </LoadedPages>
        </div>
        {can('rates.read') && (
          <aside className="order-side" aria-label="Rates">
            <RatesCard mayEdit={can('rates.write')} />
          </aside>
        )}
      </div>
    </div>
  );
}

function RatesCard({ mayEdit }: { mayEdit: boolean }) {
  const loaded = useLoad<Answer<Rates>>('rates', (signal) => call('rates/get', {}, { signal }));
  return (
    <SettingCard
      title="Rates"
      edit="Edit rates"
      mayEdit={mayEdit}
      loaded={loaded}
      form={RatesForm}
      note={<p className="quiet">Without tax. A change applies to work that is completed from then on.</p>}
    >
      {(rates) => (
        <dl className="pairs">
          <dt>An hour</dt>
          <dd>{formatMoney(rates.hourlyCents, rates.currency)}</dd>
          <dt>Coming out</dt>
          <dd>{formatMoney(rates.callOutCents, rates.currency)}</dd>
        </dl>
      )}
    </SettingCard>
  );
}

function RatesForm({ present, onClose, onDone, onTakeNewest }: SettingFormProps<Rates>) {
  const announce = useAnnounce();
  const action = useAction();
  const [hourly, setHourly] = useState((present.value.hourlyCents / 100).toFixed(2));
  const [callOut, setCallOut] = useState((present.value.callOutCents / 100).toFixed(2));
  const [currency, setCurrency] = useState(present.value.currency);
  const amount = {
    inputMode: 'decimal',
    required: true,
    pattern: '\\s*\\d{1,5}([.,]\\d{1,2})?\\s*',
  } as const;
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const answer = await call(
        'rates/update',
        {
          currency: currency.toUpperCase(),
          hourlyCents: parseMoney(hourly) ?? -1,
          callOutCents: parseMoney(callOut) ?? -1,
        },
        { idempotencyKey, ifMatch: present.version },
      );
      onDone(answer);
      announce('The rates are saved.');
    });
  return (
    <Dialog
      title="Edit rates"
      submit="Save"
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
      onTakeNewest={onTakeNewest}
    >
      <TextField
        label="An hour of work"
        {...amount}
        value={hourly}
        onChange={(event) => setHourly(event.target.value)}
      />
      <TextField
        label="Coming out"
        {...amount}
        value={callOut}
        onChange={(event) => setCallOut(event.target.value)}
      />
      <TextField
        label="Currency"
        name="currency"
        error={action.error}
        required
        maxLength={3}
        pattern="[A-Za-z]{3}"
        value={currency}
        onChange={(event) => setCurrency(event.target.value)}
      />
    </Dialog>
  );
}
