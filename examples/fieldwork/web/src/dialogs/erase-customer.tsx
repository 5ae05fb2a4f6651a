/** Erasing a customer: the dialog names what is erased and what stays before the deed. */
import { useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { Dialog } from '../components/dialog.tsx';
import { CheckField } from '../components/fields.tsx';
import { type Customer, post } from '../lib/api.ts';
import { useAction } from '../lib/use-action.ts';

export function EraseCustomer({
  customer,
  onClose,
  onDone,
}: {
  customer: Customer;
  onClose: () => void;
  onDone: () => void;
}) {
  const announce = useAnnounce();
  const action = useAction();
  const [isSure, setSure] = useState(false);
  const submit = () =>
    action.run(async () => {
      await post(`/api/customers/${customer.id}/erase`);
      onDone();
      announce('The customer is erased.');
    });
  return (
    <Dialog
      title={`Erase ${customer.name}?`}
      submit="Erase for good"
      danger
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
    >
      <p>
        Name, phone number, e-mail address, sites, photos, notes and what orders say are erased, here and in
        the history. The numbers, dates and amounts of orders and invoices stay.
      </p>
      <CheckField
        label="This cannot be brought back, and that is what I want"
        required
        checked={isSure}
        onChange={(event) => setSure(event.target.checked)}
      />
    </Dialog>
  );
}
