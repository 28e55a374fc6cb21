"""What people thought of responses: the published study, the sample's author ratings, and studies of one's own.

All come as `Ratings`: items, rated or not, and ratings that fit them. A judge's grade of an item stands beside them
where it is known; nothing here says who is right.
"""
