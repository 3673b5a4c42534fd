"""What a simulated warehouse is made of: frozen numbers with their units, no process ([P] 2, [M] 5)."""

import enum

from sim.kernel.model import Model


class Warehouse(Model, frozen=True, kw_only=True):
    """Nodes that read blocks.

    Attributes:
        nodes: How many.
        workers: Of each node; each works on one task at a time.
        tasks_ahead: Tasks that a node is given beyond those its workers are busy with.
        blocks_per_task: At most. More than one batches events: a task's times are added up and waited for
            once.
        blocks_per_home: Consecutive blocks that one node reads unless another is idle.
        guided: What is left is cut into so many tasks at least for each that nodes may have at once; 0 cuts
            nothing. Tasks then get smaller, down to one block, and all workers end at about the same time
            (guided self-scheduling: Polychronopoulos and Kuck, IEEE ToC 36(12), 1987).
        page_index: Whether nodes read the page indexes of the columns that are asked, and then only the pages
            that these leave.
        link_bytes_per_s: What all workers of a node read together.
        cache_bytes: What a node keeps of what it read, the least recently used going first.
    """

    nodes: int = 4
    workers: int = 2
    tasks_ahead: int = 1
    blocks_per_task: int = 1
    blocks_per_home: int = 1
    guided: int = 0
    page_index: bool = False
    link_bytes_per_s: int = 1_000_000_000
    cache_bytes: int = 0


class ObjectStore(Model, frozen=True, kw_only=True):
    """Where blocks lie.

    Attributes:
        first_byte_us_min, first_byte_us_max: From a request to its first byte, drawn evenly.
        bytes_per_s: Of one request.
        requests_per_s: Of all nodes together; 0 is no limit. Beyond it requests wait for their turn.
        retry_us: Before a request that failed is made again; each time twice as long.
        attempts_max: Times that one request is made before its blocks are given back.
        gap_bytes, request_bytes_max: How nodes ask for ranges of a file (`sim.scans.layouts.Ways`).
        request_usd_per_million, egress_usd_per_gb: Prices.
    """

    first_byte_us_min: int = 20_000
    first_byte_us_max: int = 60_000
    bytes_per_s: int = 100_000_000
    requests_per_s: int = 0
    retry_us: int = 50_000
    attempts_max: int = 4
    gap_bytes: int = 0
    request_bytes_max: int = 0
    request_usd_per_million: float = 0.4
    egress_usd_per_gb: float = 0.0


class Network(Model, frozen=True, kw_only=True):
    """Messages between the control plane and nodes.

    Attributes:
        delay_us_min, delay_us_max: Drawn evenly for each message, so that one may overtake another.
        bytes_per_s: What the size of a message adds.
    """

    delay_us_min: int = 200
    delay_us_max: int = 1_000
    bytes_per_s: int = 1_000_000_000


class Keeping(enum.Enum):
    """Where block metadata is kept."""

    COLUMNAR = "columnar"
    FOOTERS = "footers"


class Metadata(Model, frozen=True, kw_only=True):
    """The metadata service.

    Attributes:
        keeping: In columns of its own, which the control plane scans, or in each block's footer, which only
            who opens the block sees ([M] 4, 5).
        latency_us: Of one request to the service.
        bytes_per_s: Of a scan of metadata columns.
        bytes_per_block: Of one column, in each block's row.
        workers: Of the service, which scan together at the rates below; the work of a query counts them.
        hot: Whether columns that were scanned before are kept in memory ([M] 7).
        hot_bytes_per_s: Of a scan of those.
        footer_bytes: What one reads of a block to see its footer.
        blocks_per_chunk: Blocks whose metadata come together; what is found needed of them is dispatched
            while the next ones are scanned ([M] 5.7).
        wait_us_max: After so long the control plane goes on without metadata.
    """

    keeping: Keeping = Keeping.COLUMNAR
    latency_us: int = 5_000
    workers: int = 1
    bytes_per_s: int = 500_000_000
    bytes_per_block: int = 16
    hot: bool = True
    hot_bytes_per_s: int = 5_000_000_000
    footer_bytes: int = 16_384
    blocks_per_chunk: int = 100_000
    wait_us_max: int = 2_000_000


class ControlPlane(Model, frozen=True, kw_only=True):
    """Who plans and dispatches.

    Attributes:
        classify_ns: To ask one conjunct of one block.
        compile_us_max: What planning one scan may take; what is not asked by then is left to nodes ([P] 3.2).
        read_us: What reading a block is thought to take: a conjunct that takes longer than what it spares
            is left to nodes too.
        lanes_per_chunk: Blocks to look at between such decisions.
        summary_wait_us: How long a probe scan waits for the summary of the build side.
        summary_bytes_max: What a summary may take.
        heartbeat_us: From one heartbeat of a node to the next.
        dead_after_us: Without a heartbeat for so long a node is taken for dead.
        lease_us: After so long a task is given to a second node too; each time that happens, those of its
            scan have twice as long, up to a limit.
    """

    classify_ns: int = 10
    compile_us_max: int = 1_000_000
    read_us: int = 20_000
    lanes_per_chunk: int = 8_192
    summary_wait_us: int = 500_000
    summary_bytes_max: int = 65_536
    heartbeat_us: int = 100_000
    dead_after_us: int = 500_000
    lease_us: int = 2_000_000


class World(Model, frozen=True, kw_only=True):
    """A warehouse and what surrounds it.

    Attributes:
        settle_us: How long queries have to end, once the last has come and the last fault is over.
    """

    warehouse: Warehouse = Warehouse()
    store: ObjectStore = ObjectStore()
    network: Network = Network()
    metadata: Metadata = Metadata()
    control: ControlPlane = ControlPlane()
    settle_us: int = 120_000_000
