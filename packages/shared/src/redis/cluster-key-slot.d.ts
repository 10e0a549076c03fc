/** The slot of a key, as ioredis finds it. The package has no types. */
declare module 'cluster-key-slot' {
  export default function slotOf(key: string): number;
}
